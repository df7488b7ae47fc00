import type { HlsConfig } from 'hls.js';
import type { PageData } from './page-data.js';

/** Names in license URLs, and the browsers' names of the key systems. */
const KEY_SYSTEMS: Readonly<Record<string, string>> = {
  widevine: 'com.widevine.alpha',
  playready: 'com.microsoft.playready',
  fairplay: 'com.apple.fps',
  clearkey: 'org.w3.clearkey',
};

/** License settings for hls.js. The page only names key systems when the video is encrypted. */
export const licenseConfig = ({ keySystems, licenseToken, source }: PageData): Partial<HlsConfig> => {
  if (keySystems === '') return {};
  const playbackId = source.slice(1, source.indexOf('.m3u8'));
  const systems = keySystems.split(' ').map((name) => {
    const path = `${name}/${playbackId}?token=${encodeURIComponent(licenseToken)}`;
    const certificate = name === 'fairplay' && { serverCertificateUrl: `/appcert/${path}` };
    return [KEY_SYSTEMS[name], { licenseUrl: `/license/${path}`, ...certificate }];
  });
  return { emeEnabled: true, drmSystems: Object.fromEntries(systems) };
};
