import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { slowFiles } from './slow-files.js';

/** Files that keep a core busy for less of their time mostly wait. */
const BUSY_SHARE = 0.55;

/**
 * Starts the longest files of `slow-files.ts` first within their project, and mixes those that wait
 * evenly with those that keep a core busy, so that the cores are always busy. Projects stay
 * together because a process that runs many files ends when the next file belongs to another
 * project.
 */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const timesOf = ({ moduleId }: TestSpecification): readonly [number, number] =>
      slowFiles[relative(this.ctx.config.root, moduleId)] ?? [1, 1];
    const secondsOf = (file: TestSpecification): number => timesOf(file)[0];
    const waits = (file: TestSpecification): boolean => timesOf(file)[1] < BUSY_SHARE * secondsOf(file);
    const mix = (ofProject: TestSpecification[]): TestSpecification[] => {
      const sorted = ofProject.sort((a, b) => secondsOf(b) - secondsOf(a));
      // Each file gets the share of the time of its kind that has passed before it.
      const places = [sorted.filter(waits), sorted.filter((file) => !waits(file))].flatMap((kind) => {
        const total = kind.reduce((sum, file) => sum + secondsOf(file), 0);
        let passed = 0;
        return kind.map((file) => {
          const place = passed / total;
          passed += secondsOf(file);
          return { file, place };
        });
      });
      return places.sort((a, b) => a.place - b.place).map(({ file }) => file);
    };
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    return projects.flatMap((project) => mix(sorted.filter((file) => file.project === project)));
  }
}
