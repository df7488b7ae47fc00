import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { fixture } from '../../support/media/fixtures.js';
import { useBrowser } from '../../support/players/browser.js';
import type { Watched } from '../../support/players/chromium.js';
import { expectAccessible, openConsole } from '../../support/players/console-page.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import type { Origin } from '../../support/servers/origin.js';
import { createAsset, getAsset, serveFiles, settled, type WireAsset } from '../../support/wire/create-asset.js';

const VTT = 'WEBVTT\n\n00:01.000 --> 00:02.000\nFirst\n\n00:03.000 --> 00:04.000 line:0\nSecond & last\n';

let server: Booted;
let origin: Origin;
let asset: WireAsset;
let page: Page;
let watched: Watched;

beforeAll(async () => {
  server = await boot();
  origin = await serveFiles([await fixture('h264-aac.mp4'), await fixture('audio-only.mp3')]);
  const inputs = [{ url: `${origin.url}/0.mp4` }];
  const created = await createAsset(server, { inputs, playback_policies: ['public'], meta: { title: 'Waves' } });
  asset = await settled(server, created.id);
  ({ page, watched } = await openConsole(browser, server, `/assets/${asset.id}/tracks`));
});
afterAll(async () => {
  await origin?.stop();
  await server?.stop();
});
const browser = useBrowser();

const row = (name: string) => page.getByRole('row', { name: new RegExp(name) });
/** The text track whose cues are edited. */
const editedTrack = () => new URL(page.url()).searchParams.get('cues');
const texts = async () => (await getAsset(server, asset.id)).tracks!.filter(({ type }) => type === 'text');

/** Presses Tab until an element has the focus. */
const tabTo = async (name: string): Promise<void> => {
  await expect
    .poll(
      async () => {
        await page.keyboard.press('Tab');
        return page.evaluate(() => {
          const { activeElement: element } = document;
          return (
            element?.getAttribute('aria-label') ??
            (element as HTMLInputElement)?.labels?.[0]?.textContent ??
            element?.textContent
          );
        });
      },
      { interval: 1, timeout: 60_000 },
    )
    .toContain(name);
};

/** The texts that the player of the page displays at a time, after it has really gone there. */
const displayedAt = (seconds: number): Promise<string[]> =>
  page
    .frameLocator('iframe.stage')
    .locator('video')
    .evaluate(async (video: HTMLVideoElement, to) => {
      if (video.readyState === 0) await new Promise((resolve) => video.addEventListener('loadedmetadata', resolve));
      const sought = new Promise((resolve) => video.addEventListener('seeked', resolve, { once: true }));
      video.currentTime = to;
      await sought;
      const showing = [...video.textTracks].filter(({ mode }) => mode === 'showing');
      return showing.flatMap(({ activeCues }) => [...(activeCues ?? [])].map((cue) => (cue as VTTCue).text));
    }, seconds);

it('adds a text track from a file and an audio track from a URL', async () => {
  await row('Default').getByText('main audio').waitFor();
  await expectAccessible(page);
  const file = join(server.dataDir, 'waves.vtt');
  await writeFile(file, VTT);
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Add text track' }).click();
  await dialog.getByLabel('Language').fill('en');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await dialog.getByRole('alert').getByText('Choose a file or enter a URL').waitFor();
  await dialog.getByLabel('File').setInputFiles(file);
  await dialog.getByLabel('Closed captions').check();
  await expectAccessible(page);
  await dialog.getByRole('button', { name: 'Add' }).click();
  await row('English.*closed captions.*Ready').waitFor();

  await page.getByRole('button', { name: 'Add audio track' }).click();
  await dialog.getByLabel('URL').fill(`${origin.url}/1.mp3`);
  await dialog.getByLabel('Language').fill('fr');
  await dialog.getByLabel('Name').fill('Français');
  await dialog.getByRole('button', { name: 'Add' }).click();
  await row('Français.*Ready').waitFor();
});

it('a cue is moved by 500 ms with the keyboard alone; the player shows it at its new time and not before', async () => {
  await page.reload();
  await row('English').waitFor();
  await page.frameLocator('iframe.stage').locator('video').waitFor();
  const [before] = await texts();
  await tabTo('Edit cues of English');
  await page.keyboard.press('Enter');
  const editor = page.getByRole('region', { name: 'Cues of English' });
  await editor.getByRole('button', { name: '0:03.000 – 0:04.000' }).waitFor();
  await expectAccessible(page);
  const currentTime = () =>
    page
      .frameLocator('iframe.stage')
      .locator('video')
      .evaluate((video: HTMLVideoElement) => video.currentTime);

  // The way back to the top, and into the list.
  await page.keyboard.press('Tab');
  await page.evaluate(() => document.querySelector<HTMLElement>('h1')!.focus());
  await tabTo('0:01.000 – 0:02.000');
  await page.keyboard.press('ArrowDown');
  await expect.poll(currentTime).toBeCloseTo(3, 1);
  await page.keyboard.press('Alt+Shift+ArrowUp');
  await editor.getByRole('button', { name: '0:03.500 – 0:04.500' }).waitFor();
  await expect.poll(currentTime).toBeCloseTo(3.5, 1);
  // Before it is saved, the player shows it as it will be.
  expect(await displayedAt(3.4)).toEqual([]);
  expect(await displayedAt(3.6)).toEqual(['Second &amp; last']);

  await tabTo('Start');
  await page.keyboard.press('ArrowDown');
  await editor.getByRole('button', { name: '0:03.400 – 0:04.500' }).waitFor();
  await page.keyboard.press('ArrowUp');
  // The editor waits for nothing more when it says that it has saved.
  let letLoad = () => {};
  const closed = new Promise<void>((resolve) => {
    letLoad = resolve;
  });
  const assetUrl = `${server.url}/video/v1/assets/${asset.id}`;
  await page.route(assetUrl, async (route) => {
    await closed;
    await route.continue();
  });
  await page.keyboard.press('Control+s');
  await page.getByText('Saved the cues.').waitFor();
  const savedAgain = async (key: string) => {
    const [known] = await texts();
    await page.keyboard.press(key);
    await page.keyboard.press('Control+s');
    await expect.poll(editedTrack).not.toBe(known!.id);
    return (await texts())[0]!;
  };
  // More can be saved at once, too.
  await savedAgain('ArrowDown');
  await editor.getByRole('button', { name: '0:03.400 – 0:04.500' }).waitFor();
  const after = await savedAgain('ArrowUp');
  expect(after).toEqual({ ...before, id: expect.any(String) });
  expect(after.id).not.toBe(before!.id);

  await page.keyboard.press('Escape');
  await editor.waitFor({ state: 'detached' });
  letLoad();
  const frame = page.frameLocator('iframe.stage');
  await frame.locator('video').waitFor();
  await frame.getByRole('button', { name: 'Captions' }).waitFor();
  await frame.getByRole('button', { name: 'Captions' }).press('Enter');
  await expect.poll(() => displayedAt(3.6)).toEqual(['Second &amp; last']);
  expect(await displayedAt(3.4)).toEqual([]);
  expect(await displayedAt(4.4)).toEqual(['Second &amp; last']);
  expect(await displayedAt(1.5)).toEqual(['First']);
});

it('texts are edited, cues added and deleted; what is wrong is said, and what is not saved stays', async () => {
  await page.getByRole('link', { name: 'Edit cues of English' }).click();
  const editor = page.getByRole('region', { name: 'Cues of English' });
  await editor.getByRole('button', { name: '0:01.000 – 0:02.000' }).click();
  await editor.getByLabel('Text').fill('Tom & <i>Jerry</i>');
  await editor.getByLabel('End').fill('0:00.5');
  await editor.getByRole('button', { name: 'Save' }).click();
  await editor.getByText('The end must be after the start.').waitFor();
  await editor.getByLabel('End').fill('2.25');
  await page.keyboard.press('Enter');
  await displayedAt(5);
  await editor.getByRole('button', { name: 'Add a cue here' }).click();
  await editor.getByText('The text is missing.').waitFor();
  await editor.getByLabel('Text').fill('Third');
  await expectAccessible(page);
  // Another part, and back.
  await page.getByRole('link', { name: 'Details', exact: true }).click();
  await editor.waitFor({ state: 'detached' });
  await page.goBack();
  await editor.getByText('Third').waitFor();
  await editor.getByRole('button', { name: '0:03.500 – 0:04.500' }).click();
  await editor.getByRole('button', { name: 'Delete the cue' }).click();
  const [before] = await texts();
  await editor.getByRole('button', { name: 'Save' }).click();
  await expect.poll(editedTrack).not.toBe(before!.id);
  expect(editedTrack()).toBe((await texts())[0]!.id);
  const stored = await fetch(`${server.url}/${asset.playback_ids![0]!.id}/text/${(await texts())[0]!.id}.vtt`);
  expect(await stored.text()).toBe(
    'WEBVTT\n\n00:00:01.000 --> 00:00:02.250\nTom &amp; <i>Jerry</i>\n\n00:00:05.000 --> 00:00:06.000\nThird\n',
  );
  await editor.getByRole('button', { name: 'Close the editor' }).click();
});

it('the editor closes without a question while it saves, and a failure keeps the changes', async () => {
  const editor = page.getByRole('region', { name: 'Cues of English' });
  const link = page.getByRole('link', { name: 'Edit cues of English' });
  const [before] = await texts();
  const responses: ((fail: boolean) => void)[] = [];
  const path = `${server.url}/console/api/assets/${asset.id}/tracks/*/cues`;
  await page.route(path, async (route) => {
    if (route.request().method() !== 'PUT') return route.continue();
    const fail = await new Promise<boolean>((resolve) => responses.push(resolve));
    await (fail ? route.abort() : route.continue());
  });
  const saveAndClose = async (): Promise<void> => {
    await editor.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => responses.length).toBe(1);
    await editor.getByRole('button', { name: 'Close the editor' }).click();
    await editor.waitFor({ state: 'detached' });
  };
  await link.click();
  await editor.getByRole('button', { name: '0:05.000 – 0:06.000' }).click();
  await editor.getByLabel('Text').fill('Last');
  await saveAndClose();
  responses.pop()!(true);
  const notices = page.getByRole('region', { name: 'Notifications' });
  await notices.getByText("The server didn't answer").waitFor();
  expect((await texts())[0]!.id).toBe(before!.id);
  await link.click();
  await editor.getByText('Last', { exact: true }).waitFor();
  await saveAndClose();
  // Opened again while it is being saved, and changed: the second key saves nothing, and the change
  // is not lost.
  await link.click();
  await editor.getByLabel('Text').first().fill('First again');
  await page.keyboard.press('Control+s');
  responses.pop()!(false);
  await expect.poll(editedTrack).not.toBe(before!.id);
  const [between] = await texts();
  expect(editedTrack()).toBe(between!.id);
  expect(responses).toEqual([]);
  expect(await editor.getByLabel('Text').first().inputValue()).toBe('First again');
  await page.unroute(path);
  await editor.getByRole('button', { name: 'Save' }).click();
  await expect.poll(editedTrack).not.toBe(between!.id);
  const stored = await fetch(`${server.url}/${asset.playback_ids![0]!.id}/text/${editedTrack()}.vtt`);
  expect(await stored.text()).toMatch(/First again\n\n.*\nLast/);
  expect(await editor.getByRole('button', { name: 'Discard changes' }).count()).toBe(0);
  await editor.getByRole('button', { name: 'Close the editor' }).click();
  await editor.waitFor({ state: 'detached' });
});

it('each track keeps its own changes when another one is opened beside it', async () => {
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Add text track' }).click();
  await dialog.getByLabel('Language').fill('it');
  await dialog.getByLabel('File').setInputFiles(join(server.dataDir, 'waves.vtt'));
  await dialog.getByRole('button', { name: 'Add' }).click();
  await row('Italian.*Ready').waitFor();
  const editorOf = (name: string) => page.getByRole('region', { name: `Cues of ${name}` });
  const open = (name: string) => page.getByRole('link', { name: `Edit cues of ${name}` }).click();
  await open('Italian');
  await editorOf('Italian').getByText('Second & last').waitFor();
  await editorOf('Italian').getByRole('button', { name: 'Close the editor' }).click();
  await open('English');
  await editorOf('English').getByLabel('Text').first().fill('Only English');
  await open('Italian');
  await editorOf('Italian').getByText('Second & last').waitFor();
  expect(await page.getByText('Only English').count()).toBe(0);
  expect(await editorOf('Italian').getByRole('button', { name: 'Discard changes' }).count()).toBe(0);
  await page.goBack();
  await expect.poll(() => editorOf('English').getByLabel('Text').first().inputValue()).toBe('Only English');
  await editorOf('English').getByRole('button', { name: 'Discard changes' }).click();
  await editorOf('English').getByRole('button', { name: 'Close the editor' }).click();
  await page.getByRole('button', { name: 'Delete Italian' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await row('Italian').waitFor({ state: 'detached' });
});

it('renames, asks for generated subtitles and deletes', async () => {
  const dialog = page.getByRole('dialog');
  await page.getByRole('button', { name: 'Rename English' }).click();
  await dialog.getByLabel('Name').fill('English CC');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await row('English CC').waitFor();
  await page.getByRole('button', { name: 'Generate subtitles from Default' }).click();
  await dialog.getByLabel('Spoken language').selectOption('de');
  await dialog.getByRole('button', { name: 'Generate' }).click();
  // No speech recognition is configured.
  await row('German.*generated.*Errored.*Speech recognition is not available').waitFor();
  await page.getByRole('button', { name: 'Delete Français' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click();
  await row('Français').waitFor({ state: 'detached' });
  expect(watched.problems.filter((line) => /Content Security Policy|Uncaught/.test(line))).toEqual([]);
});
