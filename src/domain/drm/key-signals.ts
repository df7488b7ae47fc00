import { playreadyObject, psshBox, systemIds, widevineData } from '../../media/mp4/pssh.js';
import type { KeySystemSignal } from './key-source.js';

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** The signals for a key that Kinora generates itself: Widevine, PlayReady, FairPlay. */
export const ownSignals = (kid: Uint8Array): KeySystemSignal[] => {
  const widevine = base64(psshBox(systemIds.widevine, widevineData(kid)));
  const playready = playreadyObject(kid);
  return [
    {
      systemId: systemIds.widevine,
      pssh: widevine,
      keyAttributes: `METHOD=SAMPLE-AES,URI="data:text/plain;base64,${widevine}",KEYID=0x${hex(kid)},KEYFORMATVERSIONS="1",KEYFORMAT="urn:uuid:${systemIds.widevine}"`,
    },
    {
      systemId: systemIds.playready,
      pssh: base64(psshBox(systemIds.playready, playready)),
      keyAttributes: `METHOD=SAMPLE-AES,URI="data:text/plain;charset=UTF-16;base64,${base64(playready)}",KEYFORMATVERSIONS="1",KEYFORMAT="com.microsoft.playready"`,
    },
    {
      systemId: systemIds.fairplay,
      keyAttributes: `METHOD=SAMPLE-AES,URI="skd://${hex(kid)}",KEYFORMATVERSIONS="1",KEYFORMAT="com.apple.streamingkeydelivery"`,
    },
  ];
};

/** For ClearKey, whose licenses Kinora provides; `licenseUrl` has no token, which players add. */
export const clearKeyAttributes = (kid: Uint8Array, licenseUrl: string): string =>
  `METHOD=SAMPLE-AES,URI="${licenseUrl}",KEYFORMAT="org.w3.clearkey",KEYFORMATVERSIONS="1",KEYID=0x${hex(kid)}`;
