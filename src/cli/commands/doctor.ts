import { type Config, options } from '../../config/options.js';
import { ControlConnection } from '../../control/control-client.js';
import type { ServerStatus } from '../../control/control-handlers.js';
import { type Command, json, type Setting } from '../support/command.js';
import { type CheckContext, checks, type Finding } from '../support/doctor-checks.js';
import { print, printJson } from '../support/print.js';

const printFinding = ({ level, text, fix }: Finding): void => {
  print(`${level.padEnd(4)}  ${text}`);
  if (fix !== undefined) print(`      -> ${fix}`);
};

const askServer = async (dataDir: string): Promise<ServerStatus | undefined> => {
  const connection = await ControlConnection.open(dataDir);
  try {
    return (await connection?.call('status', {})) as ServerStatus | undefined;
  } finally {
    connection?.close();
  }
};

export const doctor: Command = {
  summary: 'check the installation and explain how to fix problems',
  args: [],
  flags: json,
  settings: Object.keys(options) as Setting[],
  examples: ['kinora doctor', 'kinora doctor --json'],
  run: async ({ config: own, flags }) => {
    const server = await askServer(own.dataDir);
    // The findings are sufficient; the startup log of the parts is left out.
    const config: Config = { ...own, logLevel: 'error' };
    // The settings of the running server matter, not the flags of this command.
    const context: CheckContext = server ? { config: { ...config, ...server.settings }, server } : { config };
    const findings: Finding[] = [];
    for (const check of checks) {
      for (const finding of await check(context)) {
        if (!flags['--json']) printFinding(finding);
        findings.push(finding);
      }
    }
    if (flags['--json']) printJson(findings);
    return findings.some(({ level }) => level === 'fail') ? 1 : 0;
  },
};
