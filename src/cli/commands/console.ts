import { connectControl } from '../../control/control-client.js';
import { KinoraError } from '../../lib/errors.js';
import type { Command } from '../support/command.js';
import { print } from '../support/print.js';

export const consoleCommand: Command = {
  summary: 'print a link that signs in to the console once, within an hour',
  args: [],
  settings: ['dataDir'],
  examples: ['kinora console'],
  run: async ({ config }) => {
    const server = await connectControl(config.dataDir);
    if (!server) {
      const messages = [`No server runs on ${config.dataDir}. Start it with kinora serve, or set --data-dir.`];
      throw new KinoraError('unavailable', { messages });
    }
    try {
      print(String(await server.call('console link', {})));
      return 0;
    } finally {
      server.close();
    }
  },
};
