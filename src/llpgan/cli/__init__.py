"""What the command line does, as functions: each command takes its options from one of them."""
