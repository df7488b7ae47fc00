import { askServer } from '../support/ask-server.js';
import { type Command, json } from '../support/command.js';
import { print, printJson } from '../support/print.js';

export const consoleCommand: Command = {
  summary: 'print a link that signs in to the console once, within an hour',
  args: [],
  flags: json,
  settings: ['dataDir'],
  examples: ['kinora console'],
  run: async ({ config, flags }) => {
    const url = await askServer<string>(config.dataDir, 'console link');
    if (flags['--json']) printJson({ url });
    else print(url);
    return 0;
  },
};
