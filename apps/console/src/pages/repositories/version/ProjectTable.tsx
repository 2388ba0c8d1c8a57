import { Link } from '@tanstack/react-router'
import { counted, formatCount } from '../../../lib/app/format.ts'
import { organizationParam } from '../../../organization.ts'
import { Section } from '../../../ui/app/Section.tsx'
import { Cell, type Column, Row, Table } from '../../../ui/lazy/Table.tsx'
import { CountLink } from '../../software/shared/CountLink.tsx'
import { reporting } from '../../software/shared/reporting.ts'
import shared from '../../software/shared/software.module.css'
import styles from './ProjectTable.module.css'
import { type Relation, reportCountOf, type Usage } from './usage.ts'

/** Columns after "Run it", with the words after a number for screen readers. */
const OTHER_COUNTS: readonly { relation: Relation; name: string; words: string }[] = [
  { relation: 'installs', name: 'Installing', words: 'installing' },
  { relation: 'fails', name: 'Failed', words: 'failed' },
  { relation: 'others', name: 'Other versions', words: 'on other versions' },
  { relation: 'unknown', name: 'Unknown version', words: 'unknown' },
]

/** Devices by project. Projects that the person cannot see are neither listed nor counted. */
export function ProjectTable({ usage, packageName }: { usage: Usage; packageName: string }) {
  const { projects, projectCount, versionId } = usage
  return (
    <Section title="Projects" padded={false}>
      <div className={styles.numbers}>
        <Table
          caption="Devices by project"
          columns={COLUMNS}
          bare
          rows={projects.map(({ counts, ...project }) => {
            const number = (relation: Relation, words: string) => (
              <CountLink
                count={counts?.[relation] ?? 0}
                words={`${words} in ${project.name}`}
                projects={[{ ...project, count: counts?.[relation] ?? 0 }]}
                condition={{ versionId, is: relation }}
              />
            )
            return (
              <Row key={project.projectId}>
                <Cell>
                  <Link
                    to="/org_{$organization}/projects/$projectId/software"
                    params={{
                      organization: organizationParam(project.organizationId),
                      projectId: project.projectId,
                    }}
                    className="name lines"
                  >
                    {project.name}
                  </Link>
                </Cell>
                <Cell>
                  <span>
                    {number('runs', 'run it')}{' '}
                    <span
                      className="muted"
                      title={reporting(counts ? reportCountOf(counts) : 0, packageName)}
                    >
                      of {formatCount(counts ? reportCountOf(counts) : 0)} that report it
                    </span>
                  </span>
                </Cell>
                {OTHER_COUNTS.map(({ relation, words }) => (
                  <Cell key={relation}>{number(relation, words)}</Cell>
                ))}
              </Row>
            )
          })}
        />
      </div>
      {projectCount > projects.length && (
        <div className={shared.note}>
          The {counted(projects.length, 'project')} with the most devices, of {formatCount(projectCount)}.
        </div>
      )}
    </Section>
  )
}

const COLUMNS: readonly Column[] = [
  { name: 'Project', kind: 'title' },
  { name: 'Run it' },
  ...OTHER_COUNTS.map(({ name }) => ({ name })),
]
