declare const styles: {
  readonly end: string
  readonly foot: string
  readonly hit: string
  readonly label: string
  readonly list: string
  readonly note: string
  readonly option: string
  readonly palette: string
  readonly search: string
  readonly time: string
}
export default styles
