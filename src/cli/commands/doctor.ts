import { connectControl } from '../../control/control-client.js';
import type { ServerStatus } from '../../control/control-handlers.js';
import { createLogger } from '../../telemetry/logger.js';
import { type Command, print } from '../support/command.js';
import { type CheckContext, checks, type Finding } from '../support/doctor-checks.js';

const printFinding = ({ level, text, fix }: Finding): void => {
  print(`${level.padEnd(4)}  ${text}`);
  if (fix !== undefined) print(`      -> ${fix}`);
};

const askServer = async (dataDir: string): Promise<ServerStatus | undefined> => {
  const connection = await connectControl(dataDir);
  try {
    return (await connection?.call('status', {})) as ServerStatus | undefined;
  } finally {
    connection?.close();
  }
};

export const doctor: Command = {
  summary: 'check the installation and explain how to fix problems',
  args: [],
  run: async ({ config }) => {
    // The findings are sufficient; the startup log of the parts is left out.
    const logger = createLogger('error', config.logFormat);
    const server = await askServer(config.dataDir);
    // The settings of the running server matter, not the flags of this command.
    const context: CheckContext = server
      ? { config: { ...config, ...server.settings }, logger, server }
      : { config, logger };
    let failed = false;
    for (const check of checks) {
      for (const finding of await check(context)) {
        printFinding(finding);
        failed ||= finding.level === 'fail';
      }
    }
    return failed ? 1 : 0;
  },
};
