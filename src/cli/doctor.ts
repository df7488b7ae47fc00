import { createLogger } from '../telemetry/logger.js';
import { type Command, print } from './command.js';
import { checks, type Finding } from './doctor-checks.js';

const printFinding = ({ level, text, mend }: Finding): void => {
  print(`${level.padEnd(4)}  ${text}`);
  if (mend !== undefined) print(`      -> ${mend}`);
};

export const doctor: Command = {
  summary: 'says what is wrong with a setup and how to mend it',
  args: [],
  run: async ({ config }) => {
    // The findings say it all; what the parts would log about their start is left out.
    const logger = createLogger('error', config.logFormat);
    let failed = false;
    for (const check of checks) {
      for (const finding of await check({ config, logger })) {
        printFinding(finding);
        failed ||= finding.level === 'fail';
      }
    }
    return failed ? 1 : 0;
  },
};
