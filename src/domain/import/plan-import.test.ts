import { describe, expect, it } from 'vitest';
import { addedPlaybackIds, withoutBorrowed } from './borrowed.js';
import { findAudioPlaylist, findBestRendition } from './find-files.js';
import { planImport } from './plan-import.js';
import type { SourceAsset } from './source-asset.js';

const id = (letter: string, length = 44): string => letter.repeat(length);
const asset = (changes: Partial<SourceAsset> = {}): SourceAsset => ({
  id: id('a'),
  status: 'ready',
  created_at: '1700000000',
  ...changes,
});
const notesOf = (changes: Partial<SourceAsset>): readonly string[] => {
  const plan = planImport(asset(changes), {});
  return typeof plan === 'string' ? [plan] : plan.notes;
};

describe('planImport', () => {
  it('keeps what both servers know', () => {
    const tracks = [
      { id: id('v'), type: 'video' },
      { id: id('b'), type: 'audio', primary: true, name: 'Default', language_code: 'en', status: 'ready' },
      { id: id('c'), type: 'audio', name: 'Deutsch', language_code: 'de', status: 'ready' },
      { id: id('t'), type: 'text', text_source: 'generated_vod', language_code: 'en', status: 'ready' },
    ];
    const files = [{ id: id('r'), name: 'highest.mp4', resolution: 'highest', status: 'ready', passthrough: 'p' }];
    const playback_ids = [{ id: id('p', 46), policy: 'public' }];
    const plan = planImport(asset({ tracks, playback_ids, encoding_tier: 'smart', static_renditions: { files } }), {});
    expect(plan).toMatchObject({
      playbackIds: [{ id: id('p', 46), policy: 'public' }],
      mainTracks: { video: id('v'), audio: id('b') },
      mainAudio: { name: 'Default', language_code: 'en' },
      tracks: [
        { id: id('c'), type: 'audio', name: 'Deutsch' },
        { id: id('t'), type: 'text', name: 'en', textSource: 'generated_vod', closedCaptions: false },
      ],
      renditions: [{ id: id('r'), resolution: 'highest', passthrough: 'p' }],
      settings: { video_quality: 'plus', max_resolution_tier: '1080p', mp4_support: 'none', meta: null },
      notes: [],
    });
  });

  it.each([
    [{ status: 'preparing' }, 'It is still preparing at the source. Run the import again later.'],
    [{ status: 'errored', errors: { messages: ['Bad.'] } }, 'It failed at the source: Bad.'],
    [{ is_live: true }, 'It is live. Import it when the stream has ended.'],
    [{ id: '../../etc/passwd' }, 'Its ID has an unknown form.'],
    [{ directives: [{}] }, 'Its directives are not set here: their workflows have run at the source.'],
    [{ video_quality: 'ultra' }, 'video_quality ultra is unknown; here it is basic.'],
    [{ meta: { title: 'x', color: 'red' } }, 'The metadata color is not moved: the API has no such field.'],
    [{ playback_ids: [{ id: id('p'), policy: 'drm' }] }, expect.stringContaining('--drm-configuration')],
    [{ tracks: [{ id: 'x', type: 'text' }] }, 'The text track x is not moved: its ID has an unknown form.'],
    [{ static_renditions: { files: [{ name: 'low.mp4' }] } }, expect.stringContaining('low.mp4 is not moved')],
  ])('says what is not moved: %j', (changes, note) => {
    expect(notesOf(changes as Partial<SourceAsset>)).toEqual([note]);
  });

  it('gives DRM playback IDs the configuration here', () => {
    const plan = planImport(asset({ playback_ids: [{ id: id('p'), policy: 'drm' }] }), { drmConfigurationId: id('d') });
    expect(plan).toMatchObject({
      playbackIds: [{ id: id('p'), policy: 'drm', drm_configuration_id: id('d') }],
      notes: [],
    });
  });
});

it('an asset without what was borrowed is as it was before', () => {
  const before = [{ id: id('p'), policy: 'signed' }];
  const playback_ids = [...before, { id: id('q'), policy: 'public' }, { id: id('s'), policy: 'signed' }];
  const borrowed = { master: true, playbackIdsBefore: [id('p')] } as const;
  const source = asset({ playback_ids, master_access: 'temporary' });
  expect(addedPlaybackIds(source, borrowed)).toEqual([id('q')]);
  expect(withoutBorrowed(source, borrowed)).toMatchObject({
    playback_ids: [playback_ids[0], playback_ids[2]],
    master_access: 'none',
  });
  expect(withoutBorrowed(source)).toEqual(source);
});

it('the best static rendition has the media of the asset', () => {
  const files = [
    { name: 'audio.m4a', status: 'ready' },
    { name: '540p.mp4', status: 'ready', width: 960 },
    { name: '720p.mp4', status: 'ready', width: 1280 },
    { name: '1080p.mp4', status: 'preparing', width: 1920 },
  ];
  const video = [{ id: id('v'), type: 'video' }];
  expect(findBestRendition(asset({ tracks: video, static_renditions: { files } }))).toBe('720p.mp4');
  expect(findBestRendition(asset({ tracks: [], static_renditions: { files } }))).toBe('audio.m4a');
  expect(findBestRendition(asset())).toBeUndefined();
});

it('the playlist of an audio track is found by language and name', () => {
  const media = (name: string, language: string, uri: string) =>
    `#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="${name}",LANGUAGE="${language}",URI="${uri}"`;
  const text = [media('One', 'en', '1.m3u8'), media('Two', 'en', '2.m3u8'), media('Drei', 'de', '3.m3u8')].join('\n');
  const find = (name: string, languageCode: string) =>
    findAudioPlaylist(text, 'https://s.example/x', { name, languageCode });
  expect(find('Two', 'en')).toBe('https://s.example/2.m3u8');
  expect(find('Other', 'de')).toBe('https://s.example/3.m3u8');
  expect(find('Other', 'en')).toBeUndefined();
});
