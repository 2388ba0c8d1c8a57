declare const styles: {
  readonly place: string
  readonly popup: string
  readonly root: string
  readonly scrim: string
}
export default styles
