"""What a bundle is made of: files, archives, stores of records, arrays; read and checked."""
