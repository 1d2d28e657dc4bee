//! `wasi:http`, and the errors of streams, which are easiest to have here.

use crate::Report;
use crate::bindings::wasi::filesystem::types::filesystem_error_code;
use crate::bindings::wasi::http::outgoing_handler;
use crate::bindings::wasi::http::types::{
    Fields, Method, OutgoingBody, OutgoingRequest, OutgoingResponse, RequestOptions, Scheme, http_error_code,
};
use crate::bindings::wasi::io::streams::StreamError;

pub(crate) fn call(report: &mut Report, address: &str) {
    fields(report);
    let options = options(report);
    response(report);
    request(report, address, options);
}

fn fields(report: &mut Report) {
    let mut said = |function: &str, answer: &dyn std::fmt::Debug| {
        report.said(&format!("wasi:http/types {function}"), answer);
    };
    let fields = Fields::new();
    said("fields", &fields);
    said("fields.from-list", &Fields::from_list(&[("x-a".to_owned(), b"b".to_vec())]));
    said("fields.set", &fields.set("x-a", &[b"b".to_vec()]));
    said("fields.append", &fields.append("x-a", b"c"));
    said("fields.get", &fields.get("x-a"));
    said("fields.has", &fields.has("x-a"));
    said("fields.entries", &fields.entries());
    said("fields.clone", &fields.clone());
    said("fields.delete", &fields.delete("x-a"));
}

fn options(report: &mut Report) -> RequestOptions {
    let mut said = |function: &str, answer: &dyn std::fmt::Debug| {
        report.said(&format!("wasi:http/types {function}"), answer);
    };
    let options = RequestOptions::new();
    said("request-options", &options);
    said("request-options.set-connect-timeout", &options.set_connect_timeout(Some(1_000_000_000)));
    said("request-options.connect-timeout", &options.connect_timeout());
    said("request-options.set-first-byte-timeout", &options.set_first_byte_timeout(Some(1_000_000_000)));
    said("request-options.first-byte-timeout", &options.first_byte_timeout());
    said("request-options.set-between-bytes-timeout", &options.set_between_bytes_timeout(Some(1_000_000_000)));
    said("request-options.between-bytes-timeout", &options.between_bytes_timeout());
    options
}

/// One that nobody waits for. Its body may have one byte, so a second one is an error.
fn response(report: &mut Report) {
    let length = Fields::new();
    report.said("wasi:http/types fields.set", length.set("content-length", &[b"1".to_vec()]));
    let response = OutgoingResponse::new(length);
    report.said("wasi:http/types outgoing-response", &response);
    report.said("wasi:http/types outgoing-response.set-status-code", response.set_status_code(201));
    report.said("wasi:http/types outgoing-response.status-code", response.status_code());
    report.said("wasi:http/types outgoing-response.headers", response.headers());
    let body = response.body();
    report.said("wasi:http/types outgoing-response.body", &body);
    let Ok(body) = body else { return };
    let stream = body.write();
    report.said("wasi:http/types outgoing-body.write", &stream);
    if let Ok(stream) = stream {
        let written = stream.check_write().and_then(|_| stream.write(b"two"));
        if let Err(StreamError::LastOperationFailed(error)) = &written {
            report.said("wasi:io/error error.to-debug-string", error.to_debug_string());
            report.said("wasi:http/types http-error-code", http_error_code(error));
            report.said("wasi:filesystem/types filesystem-error-code", filesystem_error_code(error));
        }
    }
    report.said("wasi:http/types outgoing-body.finish", OutgoingBody::finish(body, None));
}

fn request(report: &mut Report, address: &str, options: RequestOptions) {
    let mut said = |function: &str, answer: &dyn std::fmt::Debug| {
        report.said(&format!("wasi:http/types {function}"), answer);
    };
    let request = OutgoingRequest::new(Fields::new());
    said("outgoing-request", &request);
    said("outgoing-request.set-method", &request.set_method(&Method::Get));
    said("outgoing-request.method", &request.method());
    said("outgoing-request.set-path-with-query", &request.set_path_with_query(Some("/")));
    said("outgoing-request.path-with-query", &request.path_with_query());
    said("outgoing-request.set-scheme", &request.set_scheme(Some(&Scheme::Http)));
    said("outgoing-request.scheme", &request.scheme());
    said("outgoing-request.set-authority", &request.set_authority(Some(address)));
    said("outgoing-request.authority", &request.authority());
    said("outgoing-request.headers", &request.headers());
    let body = request.body();
    said("outgoing-request.body", &body);
    let sent = outgoing_handler::handle(request, Some(options));
    if let Ok(body) = body {
        report.said("wasi:http/types outgoing-body.finish", OutgoingBody::finish(body, None));
    }
    match sent {
        Err(error) => report.said("wasi:http/outgoing-handler handle", Err::<(), _>(error)),
        Ok(answer) => {
            let ready = answer.subscribe();
            report.said("wasi:http/types future-incoming-response.subscribe", &ready);
            ready.block();
            let answer = answer.get();
            report.said("wasi:http/types future-incoming-response.get", &answer);
            report.said("wasi:http/outgoing-handler handle", answer);
        }
    }
}
