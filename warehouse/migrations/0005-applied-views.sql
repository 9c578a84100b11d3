-- Which text of warehouse/views/ the views of this file were made from: a hash, replaced when they are made again.
create table applied_views (
    sha256 varchar not null,
    applied_at timestamp not null
);
