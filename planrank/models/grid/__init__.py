"""Networks that see states as images: convolutions over the places of a grid."""
