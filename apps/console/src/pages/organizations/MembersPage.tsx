import { useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { UserPlus } from 'lucide-react'
import { useState } from 'react'
import { invalidateActions, useActionPages } from '../../api/queries.ts'
import { useDebounced } from '../../lib/app/use-debounced.ts'
import { organizationIdOf } from '../../organization.ts'
import { CreateButton } from '../../ui/app/CreateButton.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { NoMatch } from '../../ui/app/NoMatch.tsx'
import { SearchBox } from '../../ui/app/SearchBox.tsx'
import { Table } from '../../ui/lazy/Table.tsx'
import { InviteDialog } from './InviteDialog.tsx'
import { MEMBER_COLUMNS, MemberRow } from './MemberRow.tsx'
import { PendingInvitations } from './PendingInvitations.tsx'

const PAGE_SIZE = 100
/** Minimum number of members for a filter box above the list. */
const FILTER_FROM = 20

const route = getRouteApi('/authenticated/org_{$organization}/settings/members')

/** Members and invited users of an organization. */
export function MembersPage() {
  const organizationId = organizationIdOf(route.useParams())
  const queryClient = useQueryClient()
  const [isInviting, setInviting] = useState(false)
  const [filter, setFilter] = useState('')
  const text = useDebounced(filter.trim())
  const list = useActionPages('organizations_QueryMembers', {
    organizationId,
    limit: PAGE_SIZE,
    ...(text && { filter: { text } }),
  })
  const refetch = () =>
    invalidateActions(queryClient, ['organizations_QueryMembers', 'organizations_QueryInvitations'])
  const members = list.data?.pages.flatMap(page => page.members)
  const total = list.data?.pages[0]?.total
  // While the list for another filter text loads, the filter box stays, because the user may be typing in it.
  const isFiltered = filter !== '' || text !== '' || list.isPlaceholderData
  return (
    <ListPage
      title="Members"
      what="members"
      list={{ ...list, refetch }}
      shown={members?.length}
      actions={
        <>
          {(isFiltered || (total ?? 0) >= FILTER_FROM) && (
            <SearchBox
              value={filter}
              onChange={setFilter}
              label="Filter members"
              placeholder="Filter by name or email"
            />
          )}
          <CreateButton icon={UserPlus} onClick={() => setInviting(true)}>
            Invite User
          </CreateButton>
        </>
      }
      // Below a list of unknown length, the section appears where it stays.
      below={
        <div hidden={!members && !list.error}>
          <PendingInvitations organizationId={organizationId} />
        </div>
      }
    >
      <Table
        caption="Members"
        columns={MEMBER_COLUMNS}
        bars={4}
        rows={members?.map(member => (
          <MemberRow key={member.userId} organizationId={organizationId} member={member} />
        ))}
        none={<NoMatch what="members" onClear={() => setFilter('')} />}
      />
      {isInviting && <InviteDialog organizationId={organizationId} onClose={() => setInviting(false)} />}
    </ListPage>
  )
}
