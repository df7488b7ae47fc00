-- Uploads to S3, which any server can continue.
-- needs 0014

-- Not columns of the upload: each of its changes is announced to the console, and a lease is renewed every second.
create table upload_transfer (
  upload_id text primary key references upload on delete cascade,
  -- The server that receives bytes. Times are those of the database.
  lease_holder text,
  lease_token text,
  lease_until timestamptz(3),
  renewed_at timestamptz(3),
  multipart_id text,
  -- All parts have this size, except the last one of the object.
  part_bytes bigint,
  -- Number and ETag of each stored part, in the order of the file.
  parts jsonb not null default '[]',
  -- No earlier lease has used a higher part number.
  reserved_parts integer not null default 0,
  -- Key and size of each object with bytes after the last part.
  tails jsonb not null default '[]',
  received_bytes bigint not null default 0,
  -- The token of the lease that has changed this last.
  saved_by text
);
