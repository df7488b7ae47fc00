import { systemClock } from '../../lib/clock.js';
import { SourceClient } from '../../net/source-client.js';
import { installModel, listModels, removeModel } from '../../speech/install-model.js';
import { type KnownModel, knownModels } from '../../speech/models.js';
import { type Command, json, textOf, usageError } from '../support/command.js';
import { print, printRows } from '../support/print.js';
import { Progress } from '../support/progress.js';

const findModel = (name: string): KnownModel => {
  const model = knownModels.find((candidate) => candidate.name === name);
  if (model) return model;
  const names = knownModels.map((candidate) => candidate.name).join(', ');
  throw usageError(`There is no model ${JSON.stringify(name)}; there are ${names}.`);
};

const inMB = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

const install: Command = {
  summary: 'download a speech recognition model, or resume a download',
  args: ['<model>'],
  flags: { '--from <file>': 'install the model from a file instead' },
  settings: ['dataDir', 'allowPrivateSources', 'userAgent'],
  examples: ['kinora speech install base', 'kinora speech install base --from ./model.tar.bz2'],
  run: async ({ config, args, flags }) => {
    const model = findModel(args[0]!);
    const from = textOf(flags, '--from');
    const progress = new Progress();
    const { createLogger } = await import('../../telemetry/logger.js');
    const fetcher = new SourceClient({
      allowPrivate: config.allowPrivateSources,
      maxBytes: model.sizeBytes,
      userAgent: config.userAgent,
      clock: systemClock,
      // Failures are reported at the end.
      logger: createLogger('error', config.logFormat),
    });
    const path = await installModel(model, {
      dataDir: config.dataDir,
      from,
      fetcher,
      onProgress: (receivedBytes) => {
        progress.bar(`${model.name} (${inMB(model.sizeBytes)})`, receivedBytes / model.sizeBytes);
      },
    }).finally(() => progress.end());
    print(`${path} is installed. Set KINORA_SPEECH_MODEL=${model.name} and restart the server to use it.`);
    return 0;
  },
};

const list: Command = {
  summary: 'list speech recognition models',
  args: [],
  flags: json,
  settings: ['dataDir', 'speechModel'],
  examples: ['kinora speech list'],
  run: async ({ config, flags }) => {
    const models = await listModels(config.dataDir);
    printRows(
      flags,
      models.map(({ name, sizeBytes, installed, note }) => ({
        name,
        size_bytes: sizeBytes,
        installed,
        used: config.speechModel === name && config.speechUrl === undefined,
        note,
      })),
      ['MODEL', 'SIZE', 'INSTALLED', 'USED', 'NOTE'],
      ({ name, size_bytes, installed, used, note }) => [
        name,
        inMB(size_bytes),
        installed ? 'yes' : 'no',
        used ? 'yes' : 'no',
        note,
      ],
    );
    return 0;
  },
};

const remove: Command = {
  summary: 'remove an installed or partially downloaded model',
  args: ['<model>'],
  settings: ['dataDir'],
  examples: ['kinora speech remove base'],
  run: async ({ config, args }) => {
    const model = findModel(args[0]!);
    const wasThere = await removeModel(config.dataDir, model);
    print(wasThere ? `${model.name} is removed.` : `${model.name} was not installed.`);
    return 0;
  },
};

export const speechCommands: Readonly<Record<string, Command>> = {
  'speech install': install,
  'speech list': list,
  'speech remove': remove,
};
