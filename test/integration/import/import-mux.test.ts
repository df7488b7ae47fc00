import { afterAll, beforeAll, expect, test } from 'vitest';
import { openImport } from '#kinora/cli/import/open-import.js';
import { type ImportOptions, type ImportReport, runImport } from '#kinora/cli/import/run-import.js';
import { fixture } from '../../support/media/fixtures.js';
import { playAll } from '../../support/players/play.js';
import { type Booted, boot } from '../../support/servers/boot.js';
import { api, getAsset, type WireAsset } from '../../support/wire/create-asset.js';
import { type FilledAsset, fillSource, type Sources, serveSources } from '../../support/wire/import-source.mjs';

const COUNT = 20;

let files: Sources;
let source: Booted;
let target: Booted;
let filled: FilledAsset[];

beforeAll(async () => {
  files = await serveSources({
    'video.mp4': await fixture('two-slides.mp4'),
    'silent.mp4': await fixture('one-frame.mp4'),
    'audio.m4a': await fixture('audio-only.m4a'),
  });
  [source, target] = await Promise.all([boot(), boot()]);
  filled = await fillSource(source, files.url, { count: COUNT });
});
afterAll(async () => {
  await target?.stop();
  await source?.stop();
  await files?.stop();
});

const importAll = async (changes: Partial<ImportOptions> = {}): Promise<ImportReport & { requests: number }> => {
  const signal = new AbortController().signal;
  const opened = await openImport({
    ...{ sourceUrl: source.url, tokenId: source.token.id, tokenSecret: source.token.secret },
    ...{ ratePerSecond: 1000, dataDir: target.dataDir, signal, onWait: (sentence) => console.log(sentence) },
  });
  const report = await runImport({
    ...opened,
    ...{ signal, stopping: signal, concurrency: 4, prefer: 'master', isDryRun: false, pollMs: 50 },
    onMoved: (moved) => console.log(moved.outcome, moved.assetId, moved.notes.join(' ')),
    ...changes,
  });
  return { ...report, requests: opened.api.requests };
};

test('everything', async () => {
  const t = performance.now();
  const report = await importAll();
  console.log(report.remarks, report.requests, performance.now() - t);
  for (const { asset, kind } of filled) {
    if (asset.status === 'errored') continue;
    const here = await getAsset(target, asset.id);
    console.log(kind, JSON.stringify(asset), '\n', JSON.stringify(here));
  }
});
