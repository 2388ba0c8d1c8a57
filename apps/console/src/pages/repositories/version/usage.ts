import type { ActionOutput } from '@muster/actions/client'
import type { CountedProject } from '../../software/shared/CountLink.tsx'

/** Numbers of devices that run, install or fail to install a version, with reasons, projects and tags. */
export type Usage = ActionOutput<'repositories_GetVersionUsage'>
export type UsageCounts = NonNullable<Usage['counts']>
/** A relation of devices to a version, such as `runs` or `fails`. */
export type Relation = Exclude<keyof UsageCounts, 'deviceCount' | 'reportCount'>

/** The projects with their numbers of devices in a relation to the version. */
export function projectsBy({ projects }: Usage, relation: Relation): CountedProject[] {
  return projects.map(({ counts, ...project }) => ({ ...project, count: counts?.[relation] ?? 0 }))
}

/** Number of devices that report a version of the package. An older node does not send it, so its sum stands in. */
export function reportCountOf({ reportCount, runs, installs, fails, others }: UsageCounts): number {
  return reportCount ?? runs + installs + fails + others
}

/** The listed projects that occur in `shares`, a part of the hub's answer, with their numbers of devices from `shares`. */
export function namedProjects(
  { projects }: Usage,
  shares: readonly { projectId: string; deviceCount: number }[],
): CountedProject[] {
  return shares.flatMap(({ projectId, deviceCount }) => {
    const project = projects.find(one => one.projectId === projectId)
    return project ? [{ ...project, count: deviceCount }] : []
  })
}

/** Whether a device runs, installs or failed to install the version. */
export function isUsed({ runs, installs, fails }: UsageCounts): boolean {
  return runs + installs + fails > 0
}
