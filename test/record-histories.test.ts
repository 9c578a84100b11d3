/** A recorded history is never replaced: it stands for runs that are in progress somewhere. */

import { describe, expect, test } from 'vitest';
import { RecordingRefusedError, selectHistories } from '../scripts/select-histories.ts';

const scenes = ['finalized-alone', 'void-alone', 'new-behaviour'];
const files = ['finalized-alone.json', 'void-alone.json', 'void-alone-2.json', 'scenes.ts'];

describe('selectHistories', () => {
  test('takes the behaviours without a history when none is named', () => {
    expect(selectHistories({ wanted: [], scenes, files })).toEqual(['new-behaviour']);
  });

  test('takes a named behaviour without a history', () => {
    expect(selectHistories({ wanted: ['new-behaviour'], scenes, files })).toEqual(['new-behaviour']);
  });

  test('refuses to replace a recorded history', () => {
    expect(() => selectHistories({ wanted: ['new-behaviour', 'void-alone'], scenes, files })).toThrow(
      RecordingRefusedError,
    );
  });

  test('refuses a name that no behaviour has', () => {
    expect(() => selectHistories({ wanted: ['void-alnoe'], scenes, files })).toThrow('void-alnoe');
  });
});
