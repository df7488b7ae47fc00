-- When playlists list the AV1 ladder of an asset, and what of the delivery was AV1.
-- needs 0022

-- What the owner decided.
alter table asset add column av1 text not null default 'auto' check (av1 in ('auto', 'always', 'never'));
-- With `auto`, once the asset was watched: whether it is listed, or a segment could not be made.
alter table asset add column av1_state text check (av1_state in ('listed', 'failed'));

-- A part of the delivered seconds and bytes.
alter table delivery_usage add column av1_seconds double precision not null default 0;
alter table delivery_usage add column av1_bytes bigint not null default 0;
