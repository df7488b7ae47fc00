import type { Operation } from '../operations.js';

export interface CodeSample {
  readonly lang: 'bash' | 'javascript' | 'python';
  readonly label: 'curl' | 'Node.js' | 'Python';
  readonly source: string;
}

/**
 * Methods of `@mux/mux-node`; operations without one are sent with the method of the client for any
 * path.
 */
const sdkMethods: Readonly<Record<string, string>> = {
  createAsset: 'video.assets.create',
  listAssets: 'video.assets.list',
  getAsset: 'video.assets.retrieve',
  updateAsset: 'video.assets.update',
  deleteAsset: 'video.assets.delete',
  getInputInfo: 'video.assets.retrieveInputInfo',
  createPlaybackId: 'video.assets.createPlaybackId',
  getPlaybackId: 'video.assets.retrievePlaybackId',
  deletePlaybackId: 'video.assets.deletePlaybackId',
  findPlaybackIdOwner: 'video.playbackIds.retrieve',
  createTrack: 'video.assets.createTrack',
  updateTrack: 'video.assets.updateTrack',
  deleteTrack: 'video.assets.deleteTrack',
  generateSubtitles: 'video.assets.generateSubtitles',
  updateMasterAccess: 'video.assets.updateMasterAccess',
  createStaticRendition: 'video.assets.createStaticRendition',
  deleteStaticRendition: 'video.assets.deleteStaticRendition',
  createUpload: 'video.uploads.create',
  listUploads: 'video.uploads.list',
  getUpload: 'video.uploads.retrieve',
  cancelUpload: 'video.uploads.cancel',
  createTranscriptionVocabulary: 'video.transcriptionVocabularies.create',
  listTranscriptionVocabularies: 'video.transcriptionVocabularies.list',
  getTranscriptionVocabulary: 'video.transcriptionVocabularies.retrieve',
  updateTranscriptionVocabulary: 'video.transcriptionVocabularies.update',
  deleteTranscriptionVocabulary: 'video.transcriptionVocabularies.delete',
  listDrmConfigurations: 'video.drmConfigurations.list',
  getDrmConfiguration: 'video.drmConfigurations.retrieve',
  listDeliveryUsage: 'video.deliveryUsage.list',
  createPlaybackRestriction: 'video.playbackRestrictions.create',
  listPlaybackRestrictions: 'video.playbackRestrictions.list',
  getPlaybackRestriction: 'video.playbackRestrictions.retrieve',
  deletePlaybackRestriction: 'video.playbackRestrictions.delete',
  updatePlaybackRestrictionReferrer: 'video.playbackRestrictions.updateReferrer',
  updatePlaybackRestrictionUserAgent: 'video.playbackRestrictions.updateUserAgent',
  createSigningKey: 'system.signingKeys.create',
  listSigningKeys: 'system.signingKeys.list',
  getSigningKey: 'system.signingKeys.retrieve',
  deleteSigningKey: 'system.signingKeys.delete',
  whoami: 'system.utilities.whoami',
};

/**
 * `:assetId` is written `ASSET_ID`; a name with a fixed set of values is written as the value
 * `summarize`.
 */
const placeholder = (name: string): string =>
  name === 'workflow' ? 'summarize' : name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

const json = (value: unknown): string => JSON.stringify(value, undefined, 2);

/**
 * Programs that send one request. They read `MUX_BASE_URL`, `MUX_TOKEN_ID` and `MUX_TOKEN_SECRET`,
 * the variables of the official SDK. Path parameters are placeholders in capital letters.
 */
export const codeSamples = (id: string, operation: Operation, body?: object): readonly CodeSample[] => {
  const { method, success } = operation;
  const names = [...operation.path.matchAll(/:(\w+)/g)].map(([, name]) => placeholder(name!));
  const path = operation.path.replaceAll(/:(\w+)/g, (_, name: string) => placeholder(name));
  const isEmpty = success === 204;

  const curl = [
    `curl${method === 'GET' ? '' : ` -X ${method}`} "$MUX_BASE_URL${path}"`,
    '-u "$MUX_TOKEN_ID:$MUX_TOKEN_SECRET"',
    ...(body ? ["-H 'Content-Type: application/json'", `-d '${json(body).replaceAll("'", "'\\''")}'`] : []),
  ].join(' \\\n  ');

  const sdk = sdkMethods[id];
  const options = body ? `, { body: ${json(body)} }` : '';
  const call = sdk
    ? `mux.${sdk}(${[...names.map((name) => `'${name}'`), ...(body ? [json(body)] : [])].join(', ')})`
    : `mux.${method.toLowerCase()}('${path}'${options})`;
  const node = [
    "import Mux from '@mux/mux-node';",
    '',
    'const mux = new Mux();',
    ...(isEmpty ? [`await ${call};`] : [`const result = await ${call};`, 'console.log(result);']),
  ].join('\n');

  const python = [
    'import base64, json, os, urllib.request',
    '',
    'token = f\'{os.environ["MUX_TOKEN_ID"]}:{os.environ["MUX_TOKEN_SECRET"]}\'',
    'request = urllib.request.Request(',
    `    os.environ["MUX_BASE_URL"] + "${path}",`,
    `    method="${method}",`,
    ...(body ? [`    data=json.dumps(json.loads(r"""${json(body)}""")).encode(),`] : []),
    '    headers={',
    '        "Authorization": "Basic " + base64.b64encode(token.encode()).decode(),',
    ...(body ? ['        "Content-Type": "application/json",'] : []),
    '    },',
    ')',
    'with urllib.request.urlopen(request) as response:',
    isEmpty ? '    print(response.status)' : '    print(json.load(response))',
  ].join('\n');

  return [
    { lang: 'bash', label: 'curl', source: curl },
    { lang: 'javascript', label: 'Node.js', source: node },
    { lang: 'python', label: 'Python', source: python },
  ];
};
