import { spawn } from 'node:child_process';
import { KinoraError } from '../../lib/errors.js';
import { connectApi } from '../support/api-client.js';
import { getAsset, playerUrl, publicPlaybackId } from '../support/assets.js';
import { apiSettings, type Command, json } from '../support/command.js';
import { print, printError, printJson } from '../support/print.js';
import { signFlags, signToken } from '../support/sign-token.js';

/** Resolves to whether a browser was started. */
const openBrowser = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
    const child = spawn(program, [url], { stdio: 'ignore', detached: true });
    child.once('error', () => resolve(false));
    child.once('exit', (status) => resolve(status === 0));
    child.unref();
  });

export const openAsset: Command = {
  summary: 'open the player page of an asset in the browser and print its URL',
  args: ['<id>'],
  flags: { ...signFlags, '--print': 'only print the URL', ...json },
  settings: apiSettings,
  examples: [
    'kinora asset open uPSf3Kx9ePh5ZxzXPsdKK01ZFDgrCJKGqAbCdEfG',
    'kinora asset open uPSf3Kx9ePh5ZxzXPsdKK01ZFDgrCJKGqAbCdEfG --key key.json --expires 2h --print',
  ],
  run: async ({ config, args, flags }) => {
    const asset = await getAsset(await connectApi(config), args[0]!);
    const isSigned = flags['--key'] !== undefined;
    const playbackId = isSigned
      ? asset.playback_ids?.find(({ policy }) => policy === 'signed')
      : publicPlaybackId(asset);
    if (!playbackId) {
      const advice = isSigned ? '' : ' To open a signed one, add --key.';
      const messages = [`${asset.id} has no ${isSigned ? 'signed' : 'public'} playback ID.${advice}`];
      throw new KinoraError('not_found', { messages });
    }
    const page = playerUrl(config, playbackId.id);
    const url = isSigned ? `${page}?token=${(await signToken(flags, playbackId.id, 'video')).token}` : page;
    if (flags['--json']) printJson({ url });
    else print(url);
    // A script that reads the URL wants no browser.
    if (!process.stdout.isTTY || flags['--print'] || flags['--json']) return 0;
    if (!(await openBrowser(url))) printError('No browser could be started; open the URL yourself.');
    return 0;
  },
};
