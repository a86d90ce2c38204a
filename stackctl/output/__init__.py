"""What a person or a script sees. The only package that prints; one module for each room of results."""
