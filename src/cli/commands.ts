import { assetCommands } from './commands/asset.js';
import { backup } from './commands/backup.js';
import { budgetCommands } from './commands/budget.js';
import { completion } from './commands/completion.js';
import { consoleCommand } from './commands/console.js';
import { doctor } from './commands/doctor.js';
import { drmCommands } from './commands/drm.js';
import { envCommands } from './commands/env.js';
import { importCommands } from './commands/import.js';
import { liveCommands } from './commands/live.js';
import { migrateCommand } from './commands/migrate.js';
import { operationCommands } from './commands/operations.js';
import { restore } from './commands/restore.js';
import { serve } from './commands/serve.js';
import { signCommands } from './commands/sign.js';
import { speechCommands } from './commands/speech.js';
import { tokenCommands } from './commands/token.js';
import { uploadCommands } from './commands/upload.js';
import { webhookCommands } from './commands/webhook.js';
import type { Command } from './support/command.js';

/** Commands that the help lists under one heading. */
export interface CommandGroup {
  readonly title: string;
  /** What the first words of two-word commands are about. */
  readonly summaries: Readonly<Record<string, string>>;
  /** By the words that invoke them, one or two. */
  readonly members: Readonly<Record<string, Command>>;
}

/**
 * The only table of commands. Parsing, help, completion and docs/commands.md are derived from it.
 */
export const commandGroups: readonly CommandGroup[] = [
  {
    title: 'Server',
    summaries: { speech: 'models for speech recognition' },
    members: {
      serve,
      console: consoleCommand,
      doctor,
      ...operationCommands,
      ...speechCommands,
      backup,
      restore,
      migrate: migrateCommand,
    },
  },
  {
    title: 'Videos',
    summaries: {
      asset: 'create, list and delete videos',
      live: 'live streams',
      upload: 'URLs to which others upload',
      'signing-key': 'keys that sign links',
      budget: 'how much may be delivered',
      import: 'assets and keys of another server',
    },
    members: {
      ...assetCommands,
      ...liveCommands,
      ...uploadCommands,
      ...signCommands,
      ...budgetCommands,
      ...importCommands,
    },
  },
  { title: 'Events', summaries: { webhook: 'deliveries of events to a URL' }, members: webhookCommands },
  {
    title: 'Access',
    summaries: { token: 'access tokens of the API', env: 'environments', drm: 'DRM configurations' },
    members: { ...tokenCommands, ...envCommands, ...drmCommands },
  },
  { title: 'Shell', summaries: {}, members: { completion } },
];
