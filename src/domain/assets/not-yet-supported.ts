import { type Path, Problems } from '../../api/problems.js';
import type { AssetRequest } from '../../api/validate-create-asset.js';
import { roleOfInput } from '../../api/validate-inputs.js';

type Finder = (request: AssetRequest) => readonly Path[];

const when = (asked: boolean, path: Path): readonly Path[] => (asked ? [path] : []);

/** What is valid and understood but not carried out by this version: one line each, removed by the work that builds it. */
const notYetSupported: readonly Finder[] = [
  // Additional sound.
  ({ inputs, inputsField }) =>
    inputs.flatMap((input, at) => (roleOfInput(input, at) === 'audio' ? [[inputsField, at]] : [])),
  ({ staticRenditions }) => when(staticRenditions.length > 0, ['static_renditions']),
  ({ mp4Support }) => when(mp4Support !== 'none', ['mp4_support']),
  ({ generateShots }) => when(generateShots, ['generate_shots']),
  ({ masterAccess }) => when(masterAccess !== 'none', ['master_access']),
];

/** @throws KinoraError `invalid_parameters` that names each field, so that nothing is ever ignored in silence. */
export const refuseNotYetSupported = (request: AssetRequest): void => {
  const problems = new Problems(request.base);
  for (const find of notYetSupported) {
    for (const path of find(request)) problems.add(path, 'is not yet supported by this server');
  }
  problems.throwIfAny(request.body);
};
