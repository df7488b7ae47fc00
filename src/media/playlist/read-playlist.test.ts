import { describe, expect, it } from 'vitest';
import { readAudioRenditions, readMediaPlaylist } from './read-playlist.js';

const base = 'https://stream.example/abc/audio/playlist.m3u8?token=t';

describe('readAudioRenditions', () => {
  it('finds renditions with playlists of their own', () => {
    const text = [
      '#EXTM3U',
      '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="English, original",LANGUAGE="en",DEFAULT=YES,URI="en.m3u8?x=1"',
      '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="a",NAME="Muxed",LANGUAGE="de"',
      '#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="s",NAME="Text",LANGUAGE="en",URI="text.m3u8"',
      '#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO="a"',
      'video.m3u8',
    ].join('\r\n');
    expect(readAudioRenditions(text, base)).toEqual([
      { name: 'English, original', language: 'en', url: 'https://stream.example/abc/audio/en.m3u8?x=1' },
    ]);
  });
});

describe('readMediaPlaylist', () => {
  const playlist = (...lines: string[]) => ['#EXTM3U', ...lines, '#EXT-X-ENDLIST', ''].join('\n');

  it('lists the initialization section and the segments in order', () => {
    const text = playlist(
      '#EXT-X-KEY:METHOD=NONE',
      '#EXT-X-MAP:URI="init.mp4"',
      '#EXTINF:4,',
      '0.m4s',
      '#EXTINF:4,',
      '/1.m4s',
    );
    expect(readMediaPlaylist(text, base)).toEqual({
      urls: ['init.mp4', '0.m4s']
        .map((name) => `https://stream.example/abc/audio/${name}`)
        .concat('https://stream.example/1.m4s'),
    });
  });

  it('lists MPEG-TS segments, which need no initialization section', () => {
    expect(readMediaPlaylist(playlist('#EXTINF:4,', '0.ts'), base)).toEqual({
      urls: ['https://stream.example/abc/audio/0.ts'],
    });
  });

  it.each([
    ['<html>', 'The address does not lead to an HLS playlist.'],
    ['#EXTM3U\n#EXTINF:4,\n0.ts', 'The HLS playlist is not complete.'],
    [playlist('#EXT-X-MAP:URI="init.mp4"'), 'The HLS playlist has no segments.'],
    [playlist('#EXT-X-KEY:METHOD=AES-128,URI="k"', '#EXTINF:4,', '0.ts'), 'The HLS playlist is encrypted.'],
    [
      playlist('#EXTINF:4,', '#EXT-X-BYTERANGE:5@0', 'a.mp4'),
      'The HLS playlist has byte ranges, which are not supported.',
    ],
    [
      playlist('#EXT-X-MAP:URI="a"', '#EXTINF:4,', '0.m4s', '#EXT-X-MAP:URI="b"', '#EXTINF:4,', '1.m4s'),
      'The HLS playlist has several initialization sections, which are not supported.',
    ],
    [playlist('#EXTINF:4,', 'https://[bad'), 'The HLS playlist has an invalid address.'],
  ])('says why it can not be used: %j', (text, reason) => {
    expect(readMediaPlaylist(text, base)).toBe(reason);
  });
});
