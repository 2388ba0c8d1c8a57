import { Lock } from 'lucide-react'
import { Badge } from '../../../ui/app/Badge.tsx'
import { Section } from '../../../ui/app/Section.tsx'
import { Time } from '../../../ui/app/Time.tsx'
import { CountLink } from '../../software/shared/CountLink.tsx'
import shared from '../../software/shared/software.module.css'
import { SiblingLink } from './SiblingLink.tsx'
import styles from './TagRail.module.css'
import { namedProjects, type Usage } from './usage.ts'

type TagRailProps = {
  title: string
  tags: readonly { tag: string; locked: boolean }[]
  /** `undefined` while it loads. */
  usage: Usage | undefined
  /** Adds the version of each tag. Set for a list of tags of other versions. */
  withVersions?: boolean
}

/** Tags with the devices that follow them. Readers of the repository's log also see when each tag moved to its version. */
export function TagRail({ title, tags, usage, withVersions = false }: TagRailProps) {
  return (
    <Section title={title} padded={tags.length === 0}>
      {tags.length === 0 ? (
        <p className="muted">No tags.</p>
      ) : (
        <ul className={styles.tags}>
          {tags.map(({ tag, locked }) => (
            <li key={tag}>
              <Badge locked={locked} {...(locked && { icon: Lock })}>
                <span>{tag}</span>
                {locked && <span className="visually-hidden"> locked</span>}
              </Badge>
              <TagFacts tag={tag} locked={locked} usage={usage} withVersions={withVersions} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

type TagFactsProps = { tag: string; locked: boolean; usage: Usage | undefined; withVersions: boolean }

function TagFacts({ tag, locked, usage, withVersions }: TagFactsProps) {
  const known = usage?.tags.find(one => one.tag === tag)
  const followers = known?.followers
  return (
    <>
      <span className={styles.followers}>
        {locked && !followers?.deviceCount ? (
          <span className="muted">cannot move</span>
        ) : (
          usage &&
          followers && (
            <CountLink
              count={followers.deviceCount}
              after="follow it"
              words={`devices follow ${tag}`}
              projects={namedProjects(usage, followers.projects)}
              condition={{ packageId: usage.packageId, followsTag: tag }}
            />
          )
        )}
      </span>
      <span className={`tiny muted ${shared.linkedText} ${styles.since}`}>
        {withVersions && known && (
          <>
            on <SiblingLink {...known.version} />{' '}
          </>
        )}
        {known?.since && (
          <>
            since <Time at={known.since} />
            {!withVersions && known.before && `, before on ${known.before.name}`}
          </>
        )}
      </span>
    </>
  )
}
