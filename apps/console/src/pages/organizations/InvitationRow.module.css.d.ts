declare const styles: {
  readonly actions: string
}
export default styles
