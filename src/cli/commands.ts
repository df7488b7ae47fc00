import { assetCommands } from './commands/asset.js';
import { backup } from './commands/backup.js';
import { doctor } from './commands/doctor.js';
import { drmCommands } from './commands/drm.js';
import { envCommands } from './commands/env.js';
import { restore } from './commands/restore.js';
import { serve } from './commands/serve.js';
import { speechCommands } from './commands/speech.js';
import { tokenCommands } from './commands/token.js';
import { webhookCommands } from './commands/webhook.js';
import type { Command } from './support/command.js';

/** All commands by the words that invoke them. */
export const commands: Readonly<Record<string, Command>> = {
  serve,
  ...assetCommands,
  ...tokenCommands,
  ...webhookCommands,
  ...envCommands,
  ...drmCommands,
  ...speechCommands,
  doctor,
  backup,
  restore,
};
