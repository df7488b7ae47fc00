import { type FormEvent, type ReactNode, useState, useSyncExternalStore } from 'react';
import type { NewAssetSettings } from '../../api/uploads';
import { videoQualities } from '../../lib/video-quality';
import { Button } from '../../ui/button';
import { SelectField, TextArea } from '../../ui/field';
import { Page, Section } from '../../ui/page';
import { DropZone } from '../../uploads/drop-zone';
import { uploadSettings, useAddUploads } from '../../uploads/upload-settings';

const policies = [
  ['public', 'Everyone with the link'],
  ['signed', 'Only with a signed link'],
] as const;

const qualities = [['', 'Default of the environment'], ...videoQualities] as const;

/** Separates URLs at white space, and names the first text that is not a URL. */
const readUrls = (text: string): { readonly urls: readonly string[]; readonly problem?: string } => {
  const urls = text.split(/\s+/).filter((line) => line !== '');
  const wrong = urls.find((url) => !/^https?:\/\//i.test(url) || !URL.canParse(url));
  if (wrong !== undefined) return { urls, problem: `“${wrong}” is not a URL. URLs begin with https:// or http://.` };
  return urls.length === 0 ? { urls, problem: 'Enter at least one URL.' } : { urls };
};

/** All ways to new assets, and how they are made. What is being uploaded is in the tray. */
const Uploads = (): ReactNode => {
  const settings = useSyncExternalStore(uploadSettings.subscribe, uploadSettings.get);
  const change = (values: Partial<NewAssetSettings>): void =>
    uploadSettings.set({ ...uploadSettings.get(), ...values });
  const add = useAddUploads();
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<string>();
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const parsedUrls = readUrls(text);
    setProblem(parsedUrls.problem);
    if (parsedUrls.problem !== undefined) return;
    add.urls(parsedUrls.urls);
    setText('');
  };
  return (
    <Page title="Upload">
      <div className="stack">
        <div className="form-row">
          <SelectField
            label="Who may watch"
            options={policies}
            value={settings.policy}
            onChange={({ target }) => change({ policy: target.value as NewAssetSettings['policy'] })}
          />
          <SelectField
            label="Video quality"
            options={qualities}
            value={settings.quality}
            onChange={({ target }) => change({ quality: target.value as NewAssetSettings['quality'] })}
          />
        </div>
        <DropZone />
        <Section title="From URLs">
          <form className="form" onSubmit={submit}>
            <TextArea
              label="URLs"
              hint="One per line. The server downloads the files."
              placeholder="https://example.com/video.mp4"
              value={text}
              error={problem}
              onChange={({ target }) => setText(target.value)}
            />
            <div className="form-actions">
              <Button type="submit">Create assets</Button>
            </div>
          </form>
        </Section>
      </div>
    </Page>
  );
};
export default Uploads;
