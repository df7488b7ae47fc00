-- Stored plans and facts use the words of video engineering. Only keys are renamed: in the text of a jsonb value a quote
-- within a string is escaped, so `"key":` is always a key.

create function pg_temp.rename_keys(stored jsonb) returns jsonb language plpgsql as $$
declare
  renamed text := stored::text;
  pair text[];
begin
  foreach pair slice 1 in array array[
    ['picture', 'filters'],
    ['lastPictureTicks', 'lastFrameTicks'],
    ['firstPictureTicks', 'firstFrameTicks'],
    ['zeroTicks', 'originTicks'],
    ['sourceZero', 'sourceOrigin'],
    ['colour', 'color'],
    ['joined', 'concatenated']
  ] loop
    renamed := replace(renamed, '"' || pair[1] || '":', '"' || pair[2] || '":');
  end loop;
  return renamed::jsonb;
end $$;

update asset_media set
  facts = pg_temp.rename_keys(facts),
  plan = pg_temp.rename_keys(plan),
  clip = pg_temp.rename_keys(clip);

update track_media set
  facts = pg_temp.rename_keys(facts),
  plan = pg_temp.rename_keys(plan);

drop function pg_temp.rename_keys(jsonb);
