// Written by `npm run gen` from the files job-words.ts of the features.
import type { FeatureJobs } from '@muster/actions/client'
import { accountJobs } from '../../accounts/job-words.ts'
import { auditJobs } from '../../audit/job-words.ts'
import { bulkJobs } from '../../bulk/job-words.ts'
import { deviceJobs } from '../../devices/job-words.ts'
import { labelJobs } from '../../labels/job-words.ts'
import { operationJobs } from '../../operations/job-words.ts'
import { organizationJobs } from '../../organizations/job-words.ts'
import { repositoryJobs } from '../../repositories/job-words.ts'
import { softwareJobs } from '../../software/job-words.ts'
import { webhookJobs } from '../../webhooks/job-words.ts'
import { instanceJobs } from '../job-words.ts'
import type { JobWords, Words } from '../shared/words.ts'

/** Words for all kinds of jobs. A missing kind does not compile. */
export const JOB_WORDS: Record<string, Words> = {
  ...accountJobs,
  ...auditJobs,
  ...bulkJobs,
  ...deviceJobs,
  ...labelJobs,
  ...operationJobs,
  ...organizationJobs,
  ...repositoryJobs,
  ...softwareJobs,
  ...webhookJobs,
  ...instanceJobs,
} satisfies JobWords<keyof FeatureJobs>
