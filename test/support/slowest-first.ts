import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { slowFiles } from './slow-files.js';

/**
 * Starts the files of `slow-files.ts` first within their project, the slowest of them at the head. Projects stay together
 * because a process that runs many files ends when the next file belongs to another project.
 */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const secondsOf = ({ moduleId }: TestSpecification) => slowFiles[relative(this.ctx.config.root, moduleId)] ?? 0;
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    const placeOf = ({ project }: TestSpecification) => projects.indexOf(project);
    return sorted.sort((a, b) => placeOf(a) - placeOf(b) || secondsOf(b) - secondsOf(a));
  }
}
