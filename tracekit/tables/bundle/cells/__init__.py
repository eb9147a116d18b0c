"""The numbers of records as cells: what each type stands for, and its words."""
