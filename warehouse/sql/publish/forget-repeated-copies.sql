-- Too many to be worth it: readers sort all numbers then.
delete from repeated_copies
