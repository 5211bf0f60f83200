ALTER TABLE `vendor_credentials` ADD `kind` text;
--> statement-breakpoint
-- Each vendor keeps what it does: until now its whole name decided.
UPDATE `vendor_credentials` SET `kind` = IIF(provider IN ('openai', 'anthropic', 'google', 'azure'), provider, 'compatible');
