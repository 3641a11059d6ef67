"""Problems to learn from: folders of them, how they are split, random ones, and plans for them."""
