import { assetCommands } from './asset.js';
import { backup } from './backup.js';
import type { Command } from './command.js';
import { doctor } from './doctor.js';
import { drmCommands } from './drm.js';
import { envCommands } from './env.js';
import { restore } from './restore.js';
import { serve } from './serve.js';
import { speechCommands } from './speech.js';
import { tokenCommands } from './token.js';
import { webhookCommands } from './webhook.js';

/** Every command by the words that call it. */
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
