declare const styles: {
  readonly options: string
  readonly panel: string
  readonly pick: string
  readonly place: string
}
export default styles
