// Written by `npm run gen` from the file feature.ts of each folder.
import type { Owners } from '../platform/access/owners.ts'
import type { Cancellations } from '../platform/backup/restore.ts'
import type { Job } from '../platform/jobs/define-job.ts'
import type { JobName } from '../platform/jobs/jobs.ts'
import { type Feature, registerFeatures } from '../platform/pipeline/feature.ts'
import type { Handlers } from '../platform/pipeline/handler.ts'
import type { ServiceMakers } from '../platform/pipeline/services.ts'
import { accounts } from './accounts/feature.ts'
import { approvals } from './approvals/feature.ts'
import { audit } from './audit/feature.ts'
import { bulk } from './bulk/feature.ts'
import { devices } from './devices/feature.ts'
import { instance } from './instance/feature.ts'
import { labels } from './labels/feature.ts'
import { operations } from './operations/feature.ts'
import { organizations } from './organizations/feature.ts'
import { projects } from './projects/feature.ts'
import { repositories } from './repositories/feature.ts'
import { software } from './software/feature.ts'
import { timeline } from './timeline/feature.ts'
import { views } from './views/feature.ts'
import { webhooks } from './webhooks/feature.ts'

/** All features of the hub. */
export const features: readonly Feature[] = registerFeatures({
  accounts,
  approvals,
  audit,
  bulk,
  devices,
  instance,
  labels,
  operations,
  organizations,
  projects,
  repositories,
  software,
  timeline,
  views,
  webhooks,
})

/** Handlers of all actions. A missing one does not compile. */
export const handlers: Handlers = {
  ...accounts.actions,
  ...approvals.actions,
  ...audit.actions,
  ...bulk.actions,
  ...devices.actions,
  ...instance.actions,
  ...labels.actions,
  ...operations.actions,
  ...organizations.actions,
  ...projects.actions,
  ...repositories.actions,
  ...software.actions,
  ...timeline.actions,
  ...views.actions,
  ...webhooks.actions,
}

/** All kinds of jobs. A missing one does not compile. */
export const jobs: { [N in JobName]: Job<N> } = {
  ...accounts.jobs,
  ...audit.jobs,
  ...bulk.jobs,
  ...devices.jobs,
  ...instance.jobs,
  ...labels.jobs,
  ...operations.jobs,
  ...organizations.jobs,
  ...repositories.jobs,
  ...software.jobs,
  ...webhooks.jobs,
}

/** Finds the owners of every kind of resource. A missing kind does not compile. */
export const owners: Owners = {
  ...accounts.owners,
  ...approvals.owners,
  ...devices.owners,
  ...operations.owners,
  ...organizations.owners,
  ...projects.owners,
  ...repositories.owners,
  ...webhooks.owners,
}

/** Makes the services of all features. A missing one does not compile. */
export const services: ServiceMakers = { ...bulk.services, ...operations.services, ...webhooks.services }

/** Functions that cancel the work of all features in a restored database. A missing one does not compile. */
export const cancellations: Cancellations = {
  ...bulk.onRestore,
  ...operations.onRestore,
  ...webhooks.onRestore,
}
