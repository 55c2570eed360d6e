"""The pages of graders: the registered ones, their editor, the playground."""
