import { type FormEvent, type ReactNode, useState } from 'react';
import { type Asset, updateAsset } from '../../../api/assets';
import { sentenceOf } from '../../../api/client';
import { usePermission } from '../../../api/session';
import { Button } from '../../../ui/button';
import { TextField } from '../../../ui/field';
import { useAction } from '../../../ui/use-action';

const fields = ['title', 'creator_id', 'external_id', 'passthrough'] as const;
type Values = Record<(typeof fields)[number], string>;

const valuesOf = ({ meta, passthrough }: Asset): Values => ({
  title: meta?.title ?? '',
  creator_id: meta?.creator_id ?? '',
  external_id: meta?.external_id ?? '',
  passthrough: passthrough ?? '',
});

/**
 * The texts of an asset. They can be changed while it is prepared: what is typed stays when the
 * asset changes.
 */
const Details = ({ asset }: { readonly asset: Asset }): ReactNode => {
  const mayWrite = usePermission('video:write');
  const [edited, setEdited] = useState<Partial<Values>>({});
  const values = { ...valuesOf(asset), ...edited };
  const isChanged = fields.some((name) => values[name] !== valuesOf(asset)[name]);
  const save = useAction(({ passthrough, ...meta }: Values) => updateAsset(asset.id, { meta, passthrough }), {
    done: 'Saved.',
    isSilent: true,
    refresh: [
      ['asset', asset.id],
      ['asset', 'list'],
    ],
    onDone: () => setEdited({}),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    save.mutate(values);
  };
  const field = (name: keyof Values) => ({
    name,
    value: values[name],
    readOnly: !mayWrite,
    onChange: ({ target }: { readonly target: { readonly value: string } }) =>
      setEdited((previous) => ({ ...previous, [name]: target.value })),
  });
  return (
    <form className="form" onSubmit={submit}>
      <TextField label="Title" hint="Players display it." maxLength={512} {...field('title')} />
      <TextField label="Creator ID" maxLength={128} {...field('creator_id')} />
      <TextField label="External ID" hint="What your own system calls it." maxLength={128} {...field('external_id')} />
      <TextField
        label="Passthrough"
        hint="Any text; it is part of every webhook about this asset."
        maxLength={255}
        {...field('passthrough')}
      />
      <div role="alert">{save.error && <p className="notice notice-error">{sentenceOf(save.error)}</p>}</div>
      {mayWrite && (
        <div className="form-actions">
          <Button type="submit" look="primary" disabled={!isChanged} isBusy={save.isPending}>
            Save
          </Button>
          {isChanged && <Button onClick={() => setEdited({})}>Discard changes</Button>}
        </div>
      )}
    </form>
  );
};
export default Details;
