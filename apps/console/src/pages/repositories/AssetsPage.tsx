import { getRouteApi } from '@tanstack/react-router'
import { File } from 'lucide-react'
import { useActionPages } from '../../api/queries.ts'
import { anyText, oneOf, usePageSearch } from '../../lib/app/search.ts'
import { EmptyState } from '../../ui/app/EmptyState.tsx'
import { FilterBox } from '../../ui/app/FilterBox.tsx'
import { Id } from '../../ui/app/Id.tsx'
import { ListPage } from '../../ui/app/ListPage.tsx'
import { Cell, Row, SortHead } from '../../ui/app/Table.tsx'
import { ListTable } from '../../ui/lazy/ListTable.tsx'
import { AssetState } from './AssetState.tsx'
import { LIST_PAGE_SIZE } from './page-size.ts'
import { SIZE_HEAD, SizeCell } from './SizeCell.tsx'

/** Search parameters of the list of assets. */
export const assetsSearch = { q: anyText, sort: oneOf(['size', '-size']) }

const route = getRouteApi('/authenticated/org_{$organization}/repositories/$repositoryId/assets')

/** The blobs of a repository, newest first by default. */
export function AssetsPage() {
  const { repositoryId } = route.useParams()
  const [{ q, sort }, change] = usePageSearch(assetsSearch)
  const text = q?.trim()
  const list = useActionPages('repositories_QueryAssets', {
    repositoryId,
    limit: LIST_PAGE_SIZE,
    ...(text && { filter: { text } }),
    ...(sort && { sort }),
  })
  const assets = list.data?.pages.flatMap(page => page.assets)
  return (
    <ListPage title="Assets" what="assets" list={list} shown={assets?.length}>
      {assets?.length === 0 && !text && !list.isPlaceholderData ? (
        <EmptyState icon={File} title="No assets.">
          Files that the command-line tool uploads into versions are listed here, each content once.
        </EmptyState>
      ) : (
        <>
          <div className="tools">
            <FilterBox
              value={q ?? ''}
              onChange={value => change({ q: value })}
              label="Filter assets"
              placeholder="Filter by id or digest"
            />
          </div>
          <ListTable
            caption="Assets"
            what="assets"
            columns={3}
            head={
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Digest</th>
                <SortHead field="size" sort={sort} onSort={next => change({ sort: next })}>
                  {SIZE_HEAD}
                </SortHead>
              </tr>
            }
            rows={assets?.map(asset => (
              <Row key={asset.assetId}>
                <Cell>
                  <div className="stack tight">
                    <Id id={asset.assetId} what="asset id" />
                    <AssetState status={asset.status} />
                  </div>
                </Cell>
                <Cell label="Digest">
                  <Id id={asset.digest} what="digest" wide />
                </Cell>
                <SizeCell bytes={asset.size} />
              </Row>
            ))}
            onClear={() => change({ q: '' })}
          />
        </>
      )}
    </ListPage>
  )
}
