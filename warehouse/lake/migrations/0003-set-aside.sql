-- Records of the archive that could not be taken in: what they are and why. Each was passed over so that the others come in;
-- the archive keeps them, and a rebuild asks for them again.
create table set_aside (
    place text primary key,                 -- where in the archive, or which record
    noted_at timestamp not null,
    why text not null
);
