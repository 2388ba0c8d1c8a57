declare const styles: {
  readonly note: string
  readonly panel: string
}
export default styles
