import { systemClock } from '../../lib/clock.js';
import { createSourceFetcher } from '../../net/source-fetcher.js';
import { installModel, listModels, removeModel } from '../../speech/install-model.js';
import { type KnownModel, knownModels } from '../../speech/models.js';
import { createLogger } from '../../telemetry/logger.js';
import { type Command, print, printTable, usageError } from '../support/command.js';

const findModel = (name: string): KnownModel => {
  const model = knownModels.find((known) => known.name === name);
  if (model) return model;
  const names = knownModels.map((known) => known.name).join(', ');
  throw usageError(`There is no model ${JSON.stringify(name)}; there are ${names}.`);
};

const inMB = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

const install: Command = {
  summary: 'download a speech recognition model, or resume a download',
  args: ['<model>'],
  flags: { '--from': 'install the model from a file instead' },
  run: async ({ config, args, flags }) => {
    const model = findModel(args[0]!);
    let shown = -1;
    const fetcher = createSourceFetcher({
      allowPrivate: config.allowPrivateSources,
      maxBytes: model.sizeBytes,
      userAgent: config.userAgent,
      clock: systemClock,
      // Failures are reported at the end.
      logger: createLogger('error', config.logFormat),
    });
    const path = await installModel(model, {
      dataDir: config.dataDir,
      ...(typeof flags['--from'] === 'string' && { from: flags['--from'] }),
      fetcher,
      onProgress: (receivedBytes) => {
        const percent = Math.floor((receivedBytes / model.sizeBytes) * 100);
        if (percent === shown) return;
        shown = percent;
        process.stderr.write(`${percent} % of ${inMB(model.sizeBytes)}\n`);
      },
    });
    print(`${path} is installed. Set KINORA_SPEECH_MODEL=${model.name} and restart the server to use it.`);
    return 0;
  },
};

const list: Command = {
  summary: 'list speech recognition models',
  args: [],
  run: async ({ config }) => {
    const models = await listModels(config.dataDir);
    printTable([
      ['MODEL', 'SIZE', 'INSTALLED', 'USED', 'NOTE'],
      ...models.map(({ name, sizeBytes, installed, note }) => [
        name,
        inMB(sizeBytes),
        installed ? 'yes' : 'no',
        config.speechModel === name && config.speechUrl === undefined ? 'yes' : 'no',
        note,
      ]),
    ]);
    return 0;
  },
};

const remove: Command = {
  summary: 'remove an installed or partially downloaded model',
  args: ['<model>'],
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
