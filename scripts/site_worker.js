// Pages opened from a folder may start no worker: one in a hidden frame searches in its place.
if (location.protocol === "file:") window.Worker = class extends EventTarget {
  constructor(url) {
    super();
    const frame = document.createElement("iframe");
    frame.hidden = true;
    frame.srcdoc = `<script>
      window.importScripts = (...urls) => urls.reduce((done, url) => done.then(() => new Promise((resolve) => {
        const script = document.createElement("script");
        Object.assign(script, { src: url, onload: resolve });
        document.head.append(script);
      })), Promise.resolve());
      window.postMessage = (data) => parent.postMessage({ worker: ${JSON.stringify(String(url))}, data }, "*");
    <\/script><script src="${url}"><\/script>`;
    this.ready = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }));
    this.frame = frame;
    addEventListener("message", (event) => {
      if (event.data?.worker !== String(url)) return;
      const forwarded = new MessageEvent("message", { data: event.data.data });
      this.dispatchEvent(forwarded);
      this.onmessage?.(forwarded);
    });
    document.body.append(frame);
  }
  postMessage(data) {
    this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
  }
  terminate() {
    this.frame.remove();
  }
};
