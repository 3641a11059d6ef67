"""The family `hypergraph`: STRIPS-HGN networks over the distinct parts of a state's hypergraph."""
