import { type JobWords, NOT_LOST } from '../instance/shared/words.ts'

/** Words for the jobs of devices. */
export const deviceJobs: JobWords<'devices'> = {
  devices_SweepHistory: {
    name: 'Sweep device history',
    failed: 'Data of deleted devices cannot be removed',
    harm: NOT_LOST,
  },
  devices_MeasureStored: {
    name: 'Measure stored data',
    failed: 'The data of projects cannot be measured',
    harm: 'Budgets of stored data are not checked until a run succeeds.',
  },
  devices_FillUpdates: {
    name: 'Copy update statuses',
    failed: 'Update statuses cannot be copied for the device list',
  },
  devices_FillAddresses: { name: 'Copy addresses', failed: 'Addresses cannot be copied for the search' },
  devices_FillNameKeys: {
    name: 'Sort names',
    failed: 'Lists cannot be sorted in the natural order of names',
  },
  projects_SampleConnected: {
    name: 'Sample connected devices',
    failed: 'The line of the last 24 h gets no new counts',
  },
}
