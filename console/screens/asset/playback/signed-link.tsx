import { type FormEvent, type ReactNode, useState } from 'react';
import type { PlaybackId } from '../../../api/playback-ids';
import { usePermission, useSession } from '../../../api/session';
import { formatDate } from '../../../lib/format';
import { signingKeyId, signPage } from '../../../lib/sign-token';
import { Button } from '../../../ui/button';
import { CodeBlock } from '../../../ui/copy';
import { SelectField, TextField } from '../../../ui/field';
import { useAction } from '../../../ui/use-action';

const units = [
  ['1', 'seconds'],
  ['60', 'minutes'],
  ['3600', 'hours'],
  ['86400', 'days'],
] as const;

interface Link {
  readonly url: string;
  readonly expiresAt: number;
  readonly keyId: string;
}

/** Makes a link that plays until it expires. */
export const SignedLink = ({ playbackId }: { readonly playbackId: PlaybackId }): ReactNode => {
  const { environment, stream_url: base } = useSession();
  const mayWrite = usePermission('video:write');
  const [link, setLink] = useState<Link>();
  const sign = useAction(
    async (seconds: number): Promise<Link> => {
      const expiresAt = Math.floor(Date.now() / 1000) + seconds;
      const url = await signPage(base, environment.id, playbackId, expiresAt);
      return { url, expiresAt, keyId: await signingKeyId(environment.id) };
    },
    { onDone: setLink },
  );
  if (!mayWrite) return <p className="field-hint">Signed links need the permission video:write.</p>;
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    sign.mutate(Math.round(Number(data.get('amount')) * Number(data.get('unit'))));
  };
  return (
    <>
      <form className="form-row" onSubmit={submit}>
        <TextField label="Valid for" name="amount" type="number" min={1} max={100_000} defaultValue={1} required />
        <SelectField label="Unit" name="unit" defaultValue="3600" options={units} />
        <Button type="submit" isBusy={sign.isPending}>
          Make a signed link
        </Button>
      </form>
      {link && (
        <>
          <CodeBlock text={link.url} what="signed link" />
          <p className="field-hint">
            It plays until {formatDate(link.expiresAt)}. Signed with a signing key of this browser (
            <code>{link.keyId}</code>). Delete that key under Playback access to end all links made here.
          </p>
        </>
      )}
    </>
  );
};
